"""Triggers that protect the audit log, for its migration.

They reject every change except appending. Rows may be deleted only if a later row of the log
records that they may.
"""

SAID = "the audit log is only added to"
# A row may only release earlier ones. So the check also reads this row, and notices a forged one.
RELEASING = "through < id"
THROUGH = f"coalesce((SELECT max(through) FROM audit WHERE {RELEASING}), 0)"
# The statement for a trigger that one engine does not need.
NOTHING = "SELECT 1"

SQLITE = {
    "audit_guard": NOTHING,
    # `INSERT OR REPLACE` deletes the former row, and no trigger of deletions fires for that.
    "audit_insert": "CREATE TRIGGER audit_insert BEFORE INSERT ON audit"
    " WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)"
    f" BEGIN SELECT RAISE(ABORT, '{SAID}'); END",
    "audit_update": "CREATE TRIGGER audit_update BEFORE UPDATE ON audit"
    f" BEGIN SELECT RAISE(ABORT, '{SAID}'); END",
    "audit_delete": f"CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN OLD.id > {THROUGH}"
    f" BEGIN SELECT RAISE(ABORT, '{SAID}'); END",
    "audit_truncate": NOTHING,
}
POSTGRES = {
    "audit_insert": NOTHING,
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
