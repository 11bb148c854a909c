import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import {
  Enum,
  FileBody,
  FreeText,
  Id,
  Named,
  Ok,
  pageFields,
  pagingQuery,
  Success,
  Time,
} from '../../../platform/http/schema.ts'
import { maxClips, maxSoundBytes } from '../limits.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

/** Types that programs and browsers give for WAV and MP3. The content decides. */
const uploadTypes = [
  'audio/wav',
  'audio/x-wav',
  'audio/wave',
  'audio/vnd.wave',
  'audio/mpeg',
  'audio/mp3',
  'application/octet-stream',
] as const

const unknown = 'No such clip of the account'
const params = Type.Object({ clip_uuid: Id('CLP') })
const megabytes = maxSoundBytes / 1024 / 1024

const Clip = Named(
  'Clip',
  Type.Object({
    uuid: Id('CLP'),
    name: Type.String({ examples: ['Welcome'] }),
    media_type: Enum(['audio/wav', 'audio/mpeg']),
    size: Type.Integer({ description: 'Bytes' }),
    seconds: Type.Optional(Type.Number({ description: 'Duration of a WAV file', examples: [4.25] })),
    url: Type.String({ description: 'Temporary link to the file' }),
    created_at: Time,
  }),
)

export const uploadClip = contract({
  ...account,
  id: 'uploadClip',
  client: 'clips.upload',
  needs: 'numbers',
  method: 'POST',
  url: '/open/voip/clips',
  summary: 'Upload a sound that calls can play: the body is the file itself',
  description:
    `WAV (PCM of 8, 16 or 24 bits, µ-law or A-law, 4,000 to 192,000 Hz, one or two channels) or MP3, up to ${megabytes} MiB. ` +
    `It is converted to the sound of a telephone, 8 kHz, when it is played. An account may have ${maxClips.toLocaleString('en')} clips.`,
  query: Type.Object({ name: FreeText(200, 'Name for people') }),
  stream: true,
  media: uploadTypes,
  bodyLimit: maxSoundBytes,
  body: FileBody('audio/wav', 'RIFF …'),
  status: 201,
  reply: Ok({ clip: Clip }),
  codes: { invalid: ['empty_file', 'invalid_sound'], conflict: ['too_many_clips'] },
  errors: {
    invalid: 'name is missing, or the file is neither WAV nor MP3, or of a form that is not supported',
    conflict: 'The account has reached its limit of clips',
    tooLarge: `The file is larger than ${megabytes} MiB`,
    mediaType: 'The content-type is neither of WAV, nor of MP3, nor application/octet-stream',
  },
})

export const listClips = contract({
  ...account,
  id: 'listClips',
  csv: 'clips',
  client: 'clips.list',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/clips',
  summary: 'List the clips of the account, newest first',
  description: 'The list has the metadata of each clip, and a temporary link to its file.',
  query: Type.Object({ ...pagingQuery }),
  status: 200,
  reply: Ok({ ...pageFields, clips: Type.Array(Clip) }),
  errors: {},
})

export const getClip = contract({
  ...account,
  id: 'getClip',
  client: 'clips.get',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/clips/:clip_uuid',
  summary: 'Read the metadata of a clip',
  description: 'The reply describes the file, with a temporary link to it.',
  params,
  status: 200,
  reply: Ok({ clip: Clip }),
  errors: { notFound: unknown },
})

export const deleteClip = contract({
  ...account,
  id: 'deleteClip',
  client: 'clips.delete',
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/voip/clips/:clip_uuid',
  summary: 'Delete a clip permanently',
  description: 'Calls that play it go on. Later programs that name it get clip_not_found.',
  params,
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})
