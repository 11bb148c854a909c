import { conflict, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  noPerson: () => conflict('Notifications belong to a person: sign in as one. Keys have none', 'no_person'),
  unknownSubscription: (printed: string) =>
    notFound(`You have no push subscription ${printed}`).at('push_subscription_uuid'),
  badKeys: () =>
    invalid(
      'keys are not those of a browser: p256dh is a point of P-256 (65 bytes), auth has 16 bytes',
      'invalid_push_keys',
    ).at('keys'),
  endpointRefused: (fault: string) => invalid(`endpoint ${fault}`, 'endpoint_refused').at('endpoint'),
}
