-- The tables of spaces and manifests as knowledge-fs could have made them, for tests: with columns that ours lack, and
-- with keys of its own.
CREATE TABLE knowledge_spaces (
  id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  slug text NOT NULL DEFAULT '',
  name text NOT NULL DEFAULT '',
  description text,
  lifecycle_state varchar(16) NOT NULL DEFAULT 'active',
  deletion_job_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, id)
);

CREATE TABLE knowledge_space_manifests (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  knowledge_space_id uuid NOT NULL,
  manifest_version integer NOT NULL,
  metadata jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, knowledge_space_id)
);
