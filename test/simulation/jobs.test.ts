import { jobs } from './jobs.ts'
import { testScenario } from './schedules.ts'

await testScenario(jobs)
