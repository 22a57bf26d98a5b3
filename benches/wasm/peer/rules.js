// The rules of snapshots, as somebody would write them with zod.
import * as z from "zod";

const LARGEST = 2_147_483_647;

const identifier = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\u0000-\u001f\u007f]*$/, "control character")
  .refine((text) => text.trim() === text, "outer white space");

const selection = { pluginId: identifier, provider: identifier, model: identifier };
const model = z.strictObject(selection);
const number = z.int().min(1).max(LARGEST);

export const embedding = z.strictObject({
  ...selection,
  revision: number,
  dimension: number.optional(),
  vectorSpaceId: z.string().regex(/^embedding-space-sha256:[0-9a-f]{64}$/),
});

const rerank = z
  .strictObject({ enabled: z.boolean(), model: model.optional() })
  .refine(({ enabled, model }) => !enabled || model !== undefined, { path: ["model"], message: "required when enabled" });

const scoreThreshold = z
  .strictObject({
    enabled: z.boolean(),
    stage: z.enum(["mode-final", "rerank"]),
    value: z.number().min(0).max(1).optional(),
  })
  .refine(({ enabled, value }) => !enabled || value !== undefined, { path: ["value"], message: "required when enabled" });

export const retrieval = z
  .strictObject({
    defaultMode: z.enum(["fast", "research", "deep"]),
    reasoningModel: model,
    rerank,
    scoreThreshold,
    topK: z.int().min(1).max(100),
    revision: number,
  })
  .refine(
    ({ defaultMode, rerank, scoreThreshold }) =>
      defaultMode === "research" || !scoreThreshold.enabled || rerank.enabled,
    { path: ["scoreThreshold"], message: "a score threshold requires rerank" },
  );
