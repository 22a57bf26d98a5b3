// What a fresh Node does: told in JSON as its argument, answered in JSON.
import { firstAnswer, validations } from "./measure.js";

const { modules, input, seconds } = JSON.parse(process.argv[2]);
const answer =
  seconds === undefined
    ? await firstAnswer(modules[0], input)
    : validations(await Promise.all(modules.map((module) => import(module))), input, seconds);
process.stdout.write(JSON.stringify(answer));
