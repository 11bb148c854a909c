import { testScenario } from './schedules.ts'
import { webhooks } from './webhooks.ts'

await testScenario(webhooks)
