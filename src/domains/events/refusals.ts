import { invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  misspeltEvent: (name: string, closest: string) =>
    invalid(`There is no event ${name}; did you mean ${closest}?`, 'unknown_event').at('event_name'),
  unknownEvent: (name: string, known: string) =>
    invalid(`There is no event ${name}; there are ${known}`, 'unknown_event').at('event_name'),
  eventNotFound: (event: string) => notFound(`Event ${event} does not exist`),
}
