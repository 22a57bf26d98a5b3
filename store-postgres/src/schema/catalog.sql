-- What the server says about tables ($1), a row for each of their parts. Names outside of the first schema of
-- the search_path are qualified in it, and nothing within.
WITH "tables" AS (
  SELECT *
  FROM pg_class
  WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND relkind NOT IN ('i', 'I', 'c')
    AND relname::text = ANY ($1::text[])
)
SELECT
  t.relname::text,
  'table',
  t.relname::text,
  CASE t.relkind WHEN 'r' THEN 'ordinary' WHEN 'p' THEN 'partitioned' ELSE 'no table' END
    || CASE t.relpersistence WHEN 'p' THEN ', logged' ELSE ', unlogged' END,
  -- Whoever looks may be exempt from it; others are not.
  CASE
    WHEN t.relrowsecurity OR t.relforcerowsecurity THEN format(
      'under row security, so that rows may be hidden; run ALTER TABLE %I NO FORCE ROW LEVEL SECURITY, '
        'DISABLE ROW LEVEL SECURITY',
      t.relname
    )
    ELSE ''
  END
FROM "tables" t

UNION ALL
SELECT
  t.relname::text,
  'column',
  a.attname::text,
  format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attcollation <> y.typcollation THEN ' with its own collation' ELSE '' END
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    || CASE WHEN a.attidentity <> '' THEN ' identity' WHEN a.attgenerated <> '' THEN ' generated' ELSE '' END
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''),
  ''
FROM "tables" t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum

UNION ALL
-- A foreign key's name was chosen by the server; it is known by its definition. NOT NULL is a matter of columns.
SELECT
  t.relname::text,
  CASE c.contype WHEN 'f' THEN 'foreign key' ELSE 'constraint' END,
  CASE c.contype WHEN 'f' THEN n.definition ELSE c.conname::text END,
  n.definition,
  CASE
    WHEN c.convalidated THEN ''
    ELSE format('not validated; run ALTER TABLE %I VALIDATE CONSTRAINT %I', t.relname, c.conname)
  END
FROM "tables" t
JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype NOT IN ('n', 't')
CROSS JOIN LATERAL (
  -- The server prints `IN` with its casts at the array, and once a dump of that was restored, at each element. Both
  -- become casts of the literals.
  SELECT regexp_replace(
    regexp_replace(
      regexp_replace(pg_get_constraintdef(c.oid), ' NOT VALID$', ''),
      '\(ARRAY\[([^]]*)\]\)::text\[\]', 'ARRAY[\1]', 'g'
    ),
    '\((''[^'']*'')::character varying\)::text|(''[^'']*'')::character varying', '\1\2::text', 'g'
  ) AS definition
) n

UNION ALL
SELECT
  t.relname::text,
  'index',
  x.relname::text,
  replace(pg_get_indexdef(x.oid), format(' ON %I.', current_schema()), ' ON '),
  CASE
    WHEN i.indisvalid AND i.indisready THEN ''
    ELSE format('invalid; run REINDEX INDEX CONCURRENTLY %I', x.relname)
  END
FROM "tables" t
JOIN pg_index i ON i.indrelid = t.oid
JOIN pg_class x ON x.oid = i.indexrelid
WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.oid AND c.contype IN ('p', 'u', 'x'))

UNION ALL
SELECT
  t.relname::text,
  'trigger',
  g.tgname::text,
  pg_get_triggerdef(g.oid, true),
  CASE g.tgenabled
    WHEN 'O' THEN ''
    ELSE format(
      '%s; run ALTER TABLE %I ENABLE TRIGGER %I',
      CASE g.tgenabled WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'enabled for replicas only' ELSE 'enabled always' END,
      t.relname, g.tgname
    )
  END
FROM "tables" t
JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal

UNION ALL
SELECT t.relname::text, 'rule', r.rulename::text, pg_get_ruledef(r.oid, true), ''
FROM "tables" t
JOIN pg_rewrite r ON r.ev_class = t.oid AND t.relkind IN ('r', 'p')

UNION ALL
SELECT
  '',
  'function',
  f.proname::text,
  l.lanname::text
    || CASE WHEN f.prosecdef THEN ' security definer' ELSE '' END
    || CASE WHEN f.proconfig IS NOT NULL THEN ' with settings' ELSE '' END
    || ' ' || btrim(regexp_replace(f.prosrc, '\s+', ' ', 'g')),
  ''
FROM pg_proc f
JOIN pg_language l ON l.oid = f.prolang
WHERE f.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
  AND f.proname = 'space_profiles_immutable' AND f.pronargs = 0
ORDER BY 1, 2, 3, 4
