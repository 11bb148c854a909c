import { forbidden, invalid, notFound, retryAfter, tooMany } from '../../platform/http/problem.ts'

export const refusals = {
  badProtocol: (name: string) => invalid(`The subprotocol ${name} must be offered`),
  badSince: () => invalid('since must be a time, such as 2026-11-24T09:00:00Z').at('/query/since'),
  tooManySockets: (count: number) =>
    tooMany(`${count} live sockets are open already. Close one of them.`, 'too_many_listeners', retryAfter(10)),
  tooManyTopics: (count: number) => invalid(`A page follows at most ${count} topics of this kind`, 'too_many_topics'),
  unknownConversation: (printed: string) => notFound(`There is no conversation ${printed}`),
  unknownTopic: (topic: string) => invalid(`There is no topic ${topic.slice(0, 60)}`, 'unknown_topic'),
  topicNotAllowed: (topic: string) => forbidden(`Your role may not follow ${topic}`, 'role'),
}
