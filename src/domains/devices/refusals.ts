import { forbidden } from '../../platform/http/problem.ts'

export const refusals = {
  userNotActive: (user: string) => forbidden(`The user ${user} is not active`, 'user_inactive'),
}
