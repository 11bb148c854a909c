import { jobs } from './job-scenario.ts'
import { testScenario } from './schedules.ts'

await testScenario(jobs)
