"""What keeps the audit log as it is: triggers that refuse every change but adding to it, and
letting go of rows that a row of the log says are let go of. The words of its migration.
"""

SAID = "the audit log is only added to"
THROUGH = "coalesce((SELECT max(through) FROM audit WHERE through IS NOT NULL), 0)"
# What one engine has no need of.
NOTHING = "SELECT 1"

SQLITE = {
    "audit_guard": NOTHING,
    "audit_update": "CREATE TRIGGER audit_update BEFORE UPDATE ON audit"
    f" BEGIN SELECT RAISE(ABORT, '{SAID}'); END",
    "audit_delete": f"CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN OLD.id > {THROUGH}"
    f" BEGIN SELECT RAISE(ABORT, '{SAID}'); END",
    "audit_truncate": NOTHING,
}
POSTGRES = {
    "audit_guard": "CREATE FUNCTION audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" IF TG_OP = 'DELETE' THEN IF OLD.id <= {THROUGH} THEN RETURN OLD; END IF; END IF;"
    f" RAISE EXCEPTION '{SAID}' USING ERRCODE = 'read_only_sql_transaction'; END $$",
    "audit_update": "CREATE TRIGGER audit_update BEFORE UPDATE ON audit"
    " FOR EACH ROW EXECUTE FUNCTION audit_guard()",
    "audit_delete": "CREATE TRIGGER audit_delete BEFORE DELETE ON audit"
    " FOR EACH ROW EXECUTE FUNCTION audit_guard()",
    "audit_truncate": "CREATE TRIGGER audit_truncate BEFORE TRUNCATE ON audit"
    " FOR EACH STATEMENT EXECUTE FUNCTION audit_guard()",
}
