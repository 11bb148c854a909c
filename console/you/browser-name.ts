const browsers = [
  ['Edge', /\bEdg\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\bFirefox\//],
  ['Chrome', /\b(?:Headless)?Chrome\//],
  ['Safari', /\bSafari\//],
] as const

const systems = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const

/** Returns the name of a browser by its User-Agent, such as `Firefox, Linux`. Unknown ones keep their first product. */
export const browserName = (userAgent: string): string => {
  const [browser] = browsers.find(([, pattern]) => pattern.test(userAgent)) ?? []
  const [system] = systems.find(([, pattern]) => pattern.test(userAgent)) ?? []
  return [browser ?? userAgent.split(/[\s/]/, 1)[0], system].filter(Boolean).join(', ')
}
