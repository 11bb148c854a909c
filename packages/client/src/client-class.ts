import { makeOperations } from './operations.ts'
import { type ClientOptions, type KeyKind, makeTransport, type Transport } from './transport.ts'

type ClientClass<Operations> = new (options?: ClientOptions) => Operations

/**
 * Returns the class of an entry point.
 * @param table operations of `Operations`; test/client compares it with the contracts
 * @param more further members, made with the transport
 */
export const clientClass = <Operations>(
  table: Readonly<Record<string, string>>,
  key: KeyKind,
  more: (transport: Transport) => object = () => ({}),
): ClientClass<Operations> => {
  class Client {
    constructor(options: ClientOptions = {}) {
      const transport = makeTransport(options, key)
      Object.assign(this, makeOperations(table, transport), more(transport))
    }
  }
  // The generated types declare the methods that the table makes.
  return Client as unknown as ClientClass<Operations>
}
