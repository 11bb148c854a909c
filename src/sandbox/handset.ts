import { invalid } from '../http/problem.ts'

/** @throws the 400 Problem for a number that is a channel of the messaging app */
export const notHandset = (number: string): never =>
  invalid(`${number} is a number of the platform on the messaging app, and no handset`, 'not_a_handset')
