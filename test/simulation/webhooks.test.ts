import { testScenario } from './schedules.ts'
import { webhooks } from './webhook-scenario.ts'

await testScenario(webhooks)
