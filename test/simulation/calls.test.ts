import { calls } from './calls.ts'
import { testScenario } from './schedules.ts'

await testScenario(calls)
