// A worker of test/parsers.test.ts: measures how long each dear file holds the event loop in the reader that
// `workerData` names.
import { parentPort, workerData } from 'node:worker_threads'
import { csvReaders, csvShapes } from './csv-readers.ts'
import { SlowestInput } from './slowest-input.ts'

const read = Object.entries(csvReaders).find(([name]) => name === workerData)?.[1]
if (!read) throw new Error(`there is no reader ${workerData}`)
const worst = new SlowestInput(workerData)
const holds = []
for (const [shape, text] of csvShapes) {
  await worst.runAsync(() => read(Buffer.from(text)))
  holds.push({ shape, ms: worst.ms, worst: `${worst}` })
}
parentPort?.postMessage(holds)
