import { conflict, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownConnection: (connection: string) => notFound(`No connection ${connection}`).at('connection_uuid'),
  nameTaken: (name: string) => conflict(`There is a connection named ${name} already`).at('name'),
  badTlsCa: () =>
    invalid(
      'settings.tls_ca must be a certificate in PEM, with its lines -----BEGIN CERTIFICATE----- and END, or several, and nothing else',
    ).at('settings.tls_ca'),
  badAllowedAddress: (address: string) =>
    invalid(`settings.allowed_addresses: ${address} is neither an address nor a network such as 203.0.113.0/28`).at(
      'settings.allowed_addresses',
    ),
  requiredToRegister: (setting: string) =>
    invalid(`settings.${setting} is required where settings.register is true`).at(`settings.${setting}`),
  requiredByProvider: (setting: string, provider: string) =>
    invalid(`settings.${setting} is required where settings.provider is ${provider}`).at(`settings.${setting}`),
  foreignToProvider: (setting: string, provider: string) =>
    invalid(`settings.${setting} is not for the provider ${provider}: leave it out, or clear it with null`).at(
      `settings.${setting}`,
    ),
  badPattern: (setting: string, fault: string) =>
    invalid(`settings.${setting} is not a supported pattern: ${fault}`).at(`settings.${setting}`),
  templateLacks: (value: string) =>
    invalid(`settings.url, or the body or a header that is sent, must have {${value}}`).at('settings.url'),
  templateInHost: () => invalid('settings.url must have its host as it is, without {…}').at('settings.url'),
  badCallbackAddress: (address: string) =>
    invalid(`settings.callback_addresses: ${address} is neither an address nor a network such as 203.0.113.0/28`).at(
      'settings.callback_addresses',
    ),
  notChosenByTenants: (kind: string) =>
    invalid(
      `shared and account_uuids are for messaging networks: tenants do not choose a connection of kind ${kind}`,
    ).at('account_uuids'),
  channelsLeftOut: (name: string) =>
    conflict(
      `${name} carries channels of accounts that account_uuids leaves out: delete those channels first`,
      'channels_open',
    ).at('account_uuids'),
  ordersOpen: (count: number, name: string) =>
    conflict(
      `${count} orders at ${name} are still open: wait for them, or disable the connection meanwhile`,
      'orders_open',
    ),
  channelsOpen: (name: string) =>
    conflict(`${name} carries numbers of the messaging app: delete those channels first`, 'channels_open'),
}
