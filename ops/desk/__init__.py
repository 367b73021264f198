"""The support desk's command line: questions to a running ``cardroom serve``, for a terminal."""
