// Responses that the first script of the page asked for, before the program was there. The two scripts share the global
// scope alone.

const place = globalThis as { earlyResponses?: Map<string, Promise<Response>> }
place.earlyResponses ??= new Map()

/** By address. */
export const earlyResponses: Map<string, Promise<Response>> = place.earlyResponses

/** Takes the response to a request that is under way already: once. */
export const takeEarly = (method: string, address: string): Promise<Response> | undefined => {
  if (method !== 'GET') return undefined
  const response = earlyResponses.get(address)
  earlyResponses.delete(address)
  return response
}
