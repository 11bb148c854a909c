import { calls } from './call-scenario.ts'
import { testScenario } from './schedules.ts'

await testScenario(calls)
