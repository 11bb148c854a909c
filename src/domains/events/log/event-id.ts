/** Returns the smallest event id of a moment, in Unix milliseconds by the machine's clock (RFC 9562, 5.7). */
export const firstIdAt = (ms: number): string => {
  const hex = Math.min(Math.max(0, Math.floor(ms)), 0xffff_ffff_ffff)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
