import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedOfCommit } from '../commit-seed.ts'
import { atEnd } from '../endings.ts'
import { type Failure, makeSimulator, type Scenario } from './simulation.ts'

/** Schedules of the fast form, and of the long one. */
const counts = { fast: 12, long: 2_000 }

/** Steps of a failed schedule that are printed. */
const shownSteps = 400

const report = (name: string, { seed, text, trace }: Failure): string =>
  [
    `${text}`,
    ...trace.slice(-shownSteps),
    `Run it again: TRUNKLINE_TEST_SEED=${seed} npm test -- test/simulation/${name}.test.ts`,
  ].join('\n')

/** Defines the tests of a scenario: its schedules keep their promises, and a seed gives the same schedule again. */
export const testScenario = async (scenario: Scenario): Promise<void> => {
  const simulator = await makeSimulator(scenario)
  atEnd(() => simulator.end())
  const { TRUNKLINE_TEST_SEED: given, TRUNKLINE_TEST_COUNT: wanted, TRUNKLINE_TEST_LONG: isLong } = process.env
  const first = given === undefined ? seedOfCommit() : Number(given)
  const most = isLong ? counts.long : counts.fast
  const count = wanted === undefined ? (given === undefined ? most : 1) : Number(wanted)

  test(`${scenario.name}: ${count} schedules from seed ${first} on keep every promise`, async (t) => {
    const began = performance.now()
    const cpu = process.cpuUsage()
    let steps = 0
    for (let seed = first; seed < first + count; seed++) {
      const failure = await simulator.run(seed)
      steps += simulator.trace().length
      if (failure) assert.fail(`schedule ${seed - first + 1}: ${report(scenario.name, failure)}`)
    }
    const { user, system } = process.cpuUsage(cpu)
    t.diagnostic(
      `${count} schedules, ${steps} steps, ${Math.round(performance.now() - began)} ms, ${Math.round((user + system) / 1_000)} ms CPU`,
    )
  })

  test(`${scenario.name}: a seed gives the same schedule again`, async () => {
    const before = { failure: await simulator.run(first), trace: [...simulator.trace()] }
    const after = { failure: await simulator.run(first), trace: [...simulator.trace()] }
    assert.equal(after.failure?.text, before.failure?.text)
    assert.deepEqual(after.trace, before.trace)
  })
}
