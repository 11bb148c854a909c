import { jobs } from './jobs.ts'
import { testScenario } from './schedules.ts'

testScenario(jobs)
