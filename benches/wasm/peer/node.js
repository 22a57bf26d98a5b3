import { createHash } from "node:crypto";

import { validator } from "./validate.js";

export const validate = validator((text) => createHash("sha256").update(text).digest("hex"));
