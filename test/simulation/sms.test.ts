import { testScenario } from './schedules.ts'
import { sms } from './sms-scenario.ts'

await testScenario(sms)
