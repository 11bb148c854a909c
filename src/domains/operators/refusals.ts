import { conflict, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownKey: (key: string) => notFound(`No operator key ${key}`).at('key_uuid'),
  keyInUse: () =>
    conflict('You cannot revoke the key used for this request: revoke it with another operator key', 'key_in_use').at(
      'key_uuid',
    ),
  lastOperatorKey: () =>
    conflict(
      'This is the last key with the role operator: create another one before you revoke it',
      'last_operator_key',
    ).at('key_uuid'),
}
