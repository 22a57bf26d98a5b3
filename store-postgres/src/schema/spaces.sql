-- The columns of the two tables of spaces with their types, the sets of columns that are unique, and, with what mends
-- it, row security and tenants with a collation of their own.
WITH "tables" AS (
  SELECT *
  FROM pg_class
  WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND relkind NOT IN ('i', 'I', 'c')
    AND relname IN ('knowledge_spaces', 'knowledge_space_manifests')
)
SELECT
  relname::text,
  'table',
  CASE WHEN relkind IN ('r', 'p') THEN 'a table' ELSE 'no table' END,
  CASE
    WHEN NOT has_table_privilege(oid, 'REFERENCES') THEN 'REFERENCES'
    ELSE ''
  END
FROM "tables"

UNION ALL
SELECT
  relname::text,
  'row security',
  '',
  format(
    'under row security, so that rows may be hidden; run ALTER TABLE %I NO FORCE ROW LEVEL SECURITY, '
      'DISABLE ROW LEVEL SECURITY',
    relname
  )
FROM "tables"
WHERE relrowsecurity OR relforcerowsecurity

UNION ALL
SELECT t.relname::text, 'column', a.attname::text, format_type(a.atttypid, NULL)
FROM "tables" t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped

UNION ALL
SELECT
  t.relname::text,
  'collation',
  a.attname::text,
  format(
    'found `%s`, with which a walk over all tables might never end; run ALTER TABLE %I ALTER COLUMN %I TYPE %s '
      'COLLATE "default"',
    a.attcollation::regcollation, t.relname, a.attname, format_type(a.atttypid, a.atttypmod)
  )
FROM "tables" t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
WHERE a.attcollation <> y.typcollation

UNION ALL
SELECT t.relname::text, 'key', string_agg(a.attname::text, ', ' ORDER BY a.attname::text), ''
FROM "tables" t
JOIN pg_index i ON i.indrelid = t.oid
CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY k (attnum, place)
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
  AND k.place <= i.indnkeyatts
GROUP BY t.relname, i.indexrelid
ORDER BY 1, 2, 3
