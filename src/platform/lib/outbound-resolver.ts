import { makeHostResolver } from '@trunkline/sip/transport/host-resolver.ts'
import { type AddressPolicy, makeAddressCheck } from './outbound-address.ts'
import { OutboundError } from './outbound-exchange.ts'
import { type CheckedTarget, checkedTarget } from './outbound-pool.ts'
import { readTarget, type Target } from './outbound-target.ts'

export type ResolverPolicy = AddressPolicy & {
  /** Allows `http:` URLs. Default: the value of `allowPrivate`. */
  readonly http?: boolean
  /** DNS servers. Default: those of the machine. */
  readonly dns?: readonly string[]
}

const maxCached = 5_000

/** Characters of a key that is remembered. Longer URLs have the fields of one request, and come once. */
const maxCachedLength = 2_500

const remember = <T>(map: Map<string, T>, key: string, value: T): T => {
  if (key.length > maxCachedLength) return value
  if (map.size >= maxCached) map.clear()
  map.set(key, value)
  return value
}

/** Resolves URLs to checked addresses. @throws TypeError if the policy has an invalid network */
export const makeTargetResolver = (policy: ResolverPolicy) => {
  const { allowPrivate, http = allowPrivate } = policy
  const faultOf = makeAddressCheck(policy)
  const names = makeHostResolver(policy.dns)
  const targets = new Map<string, Target | string>()
  const checkedTargets = new Map<string, CheckedTarget>()

  /** Checks all addresses: a single forbidden one refuses the target. */
  const addressFault = ({ host, isAddress }: Target, addresses: readonly string[]): string | null => {
    for (const address of addresses) {
      const fault = faultOf(address)
      if (fault) return isAddress ? `leads to ${fault}` : `leads to ${fault}, by the name ${host}`
    }
    return null
  }

  const targetOf = (url: string): Target | string =>
    targets.get(url) ?? remember(targets, url, readTarget(url, { allowPrivate, http }))

  const checkAddresses = (target: Target, addresses: readonly string[]): CheckedTarget => {
    const key = `${target.isSecure} ${target.hostHeader} ${target.path} ${addresses.join()}`
    const known = checkedTargets.get(key)
    if (known) return known
    const fault = addressFault(target, addresses)
    if (fault) throw new OutboundError('refused', fault)
    return remember(checkedTargets, key, checkedTarget(target, addresses))
  }

  const resolveName = async (target: Target): Promise<CheckedTarget> => {
    const addresses = await names.resolve(target.host).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      throw new OutboundError('dns', `${target.host} cannot be resolved (${code})`)
    })
    if (addresses.length === 0) throw new OutboundError('dns', `the host ${target.host} does not exist`)
    return checkAddresses(target, addresses)
  }

  return {
    /** @throws OutboundError `refused` for a forbidden URL or address, `dns` if the name has no address */
    resolve: async (url: string): Promise<CheckedTarget> => {
      const target = targetOf(url)
      if (typeof target === 'string') throw new OutboundError('refused', target)
      return target.isAddress ? checkAddresses(target, [target.host]) : await resolveName(target)
    },
    close: names.close,
  }
}
