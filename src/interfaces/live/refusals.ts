import { forbidden, invalid, notFound, retryAfter, tooMany } from '../../platform/http/problem.ts'

export const refusals = {
  badAfter: () => invalid('after must be the id of an event: it starts with EVT'),
  badProtocol: (name: string) => invalid(`The subprotocol ${name} must be offered`),
  tooManySockets: (count: number) =>
    tooMany(`${count} live sockets are open already. Close one of them.`, 'too_many_listeners', retryAfter(10)),
  unknownTopic: (topic: string) => invalid(`There is no topic ${topic.slice(0, 60)}`, 'unknown_topic'),
  topicNotAllowed: (topic: string) => forbidden(`Your role may not follow ${topic}`, 'role'),
  webhookNotFound: (webhook: string) => notFound(`Webhook ${webhook} does not exist`),
}
