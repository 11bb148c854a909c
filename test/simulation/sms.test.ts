import { testScenario } from './schedules.ts'
import { sms } from './sms.ts'

await testScenario(sms)
