-- What the application's role may do. Applied after every migration, so that a role which is
-- created later gets its rights with the next 'cardroom migrate'. Nothing is granted, and nothing
-- fails, where the role does not exist: an operator may use one role for everything, and then the
-- triggers alone protect the journal.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'cardroom_app') OR current_user = 'cardroom_app'
    THEN
        RETURN;
    END IF;
    -- The application creates each generation of the projections in a schema of its own.
    EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO cardroom_app', current_database());
    GRANT USAGE, CREATE ON SCHEMA book TO cardroom_app;
    GRANT USAGE ON SCHEMA journal, vault, audit TO cardroom_app;
    REVOKE ALL ON ALL TABLES IN SCHEMA journal, vault, audit FROM cardroom_app;
    GRANT SELECT, INSERT ON journal.events, journal.commits, journal.requests,
        journal.refused_hands, journal.executions, audit.reads, audit.checks TO cardroom_app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON journal.snapshots, vault.names TO cardroom_app;
    GRANT SELECT, INSERT, UPDATE ON journal.tracking TO cardroom_app;
    GRANT SELECT ON journal.schema_version, journal.seals TO cardroom_app;
END
$$;

-- An auditor reads the journal, its proof and the views of the projections; these belong to the
-- application's role, which grants them itself. Neither names nor the log of reads: those are about
-- persons, and an operator who wants him to see them grants them.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'cardroom_auditor') THEN
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO cardroom_auditor', current_database());
        GRANT USAGE ON SCHEMA book, journal, audit TO cardroom_auditor;
        GRANT SELECT ON journal.events, journal.commits, journal.seals, audit.checks
            TO cardroom_auditor;
    END IF;
END
$$;
