import { parentPort } from 'node:worker_threads'
import { chardet } from 'jschardet'

/** The encodings of files that programs write today, by the names of the detector. */
const encodings = new Map(
  Object.entries({
    cp1250: 'windows-1250',
    cp1251: 'windows-1251',
    cp1252: 'windows-1252',
    cp1253: 'windows-1253',
    cp1254: 'windows-1254',
    cp1255: 'windows-1255',
    cp1256: 'windows-1256',
    cp1257: 'windows-1257',
    cp1258: 'windows-1258',
    'iso8859-2': 'iso-8859-2',
    'iso8859-5': 'iso-8859-5',
    'koi8-r': 'koi8-r',
    'koi8-u': 'koi8-u',
    'mac-roman': 'macintosh',
    cp874: 'windows-874',
    cp932: 'shift_jis',
    cp949: 'euc-kr',
    euc_jis_2004: 'euc-jp',
    gb18030: 'gb18030',
    big5hkscs: 'big5',
  }),
)

/** Encodings of Latin scripts, which share most letters with windows-1252. */
const latin = /^(?:windows-125[0478]|iso-8859-2)$/

/** Short lists of names say little: windows-1252 is by far the most frequent, so another one must be clearly likelier.
 *  Lists of 40 languages, of one to three names each, were compared. */
const latinMargin = 0.72

/** Signs within words, and letters of Icelandic, which text of Central Europe and Turkey has when read as windows-1252. */
const misread = /\p{L}[^\p{L}\s\0-\x7f“”‘’´¨–—]|[^\p{L}\s\0-\x7f“”‘’´¨–—]\p{L}|[þÞðÐ\x80-\x9f]/u

/** Alphabets that are not mixed with Latin letters in one word. */
const otherAlphabet = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Thai}]/u

/** True if most words of another alphabet have Latin letters too: Turkish is then read as Arabic, for example. */
const isMixed = (text: string): boolean => {
  const words = (text.match(/\p{L}+/gu) ?? []).filter((word) => otherAlphabet.test(word))
  return words.filter((word) => /\p{Script=Latin}/u.test(word)).length * 2 > words.length
}

/** Returns the likeliest encoding of a text that is not UTF-8. */
const detect = (sample: Uint8Array): string => {
  const found = chardet
    .detectAll(sample, { includeEncodings: encodings.keys(), ignoreThreshold: true, compatNames: false })
    .flatMap(({ encoding, confidence }) => {
      const name = encodings.get(encoding ?? '')
      return name === undefined ? [] : [{ name, confidence }]
    })
  const best = found.find(({ name }) => !isMixed(new TextDecoder(name).decode(sample)))
  const western = found.find(({ name }) => name === 'windows-1252')
  const isClose =
    best &&
    western &&
    latin.test(best.name) &&
    western.confidence >= latinMargin * best.confidence &&
    !misread.test(new TextDecoder('windows-1252').decode(sample))
  return (isClose ? western : best)?.name ?? 'windows-1252'
}

parentPort?.on('message', (sample: Uint8Array) => parentPort?.postMessage(detect(sample)))
