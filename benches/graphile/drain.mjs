// Drains jobs that do nothing with graphile-worker as it is by default. Reads how many from standard input, a number a
// line, and answers each with the nanoseconds from the first job's start until none is left in the table.
import { createInterface } from "node:readline";
import { EventEmitter } from "node:events";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const connectionString = process.argv[2];
// By default every job is logged to the console, which costs more than the job.
const logger = new Logger(() => () => {});

const utils = await makeWorkerUtils({ connectionString, logger });
await utils.migrate();
const query = (text, values) => utils.withPgClient((client) => client.query(text, values));

async function drain(jobs) {
  await query("SELECT graphile_worker.add_job('empty') FROM generate_series(1, $1::integer)", [jobs]);
  await query("VACUUM ANALYZE");
  const events = new EventEmitter();
  let begun;
  events.once("job:start", () => (begun = process.hrtime.bigint()));
  let done = 0;
  const all = new Promise((resolve) => events.on("job:complete", () => ++done === jobs && resolve()));
  const options = { connectionString, logger, events, noHandleSignals: true, taskList: { empty: () => {} } };
  const runner = await run(options);
  await all;
  // What is done is taken off the table a little later.
  while ((await query("SELECT FROM graphile_worker.jobs LIMIT 1")).rowCount > 0);
  const ended = process.hrtime.bigint();
  await runner.stop();
  return ended - begun;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(String(await drain(Number(line))));
}
await utils.release();
