// The host of the example, with the clock and the timers of node, which browsers have as well.
// Exits with 0 only if the example comes to its end.

import { readFile } from "node:fs/promises";

const timers = new Map();
let finish;
const finished = new Promise((resolve) => (finish = resolve));

const host = {
  now: () => performance.now(),
  set_timeout: (timer, millis) => timers.set(timer, setTimeout(fire, millis, timer)),
  clear_timeout: (timer) => {
    clearTimeout(timers.get(timer));
    timers.delete(timer);
  },
  print: (text, bytes) => {
    console.log(new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, text, bytes)));
  },
  finish: () => finish(),
};

function fire(timer) {
  timers.delete(timer);
  instance.exports.fire(timer);
}

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), { host });
instance.exports.start();
// If a call waits for ever, no timer is left, and node exits with 13.
await finished;
