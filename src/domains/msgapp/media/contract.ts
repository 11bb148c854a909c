import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, FileBody, Id, Ok } from '../../../platform/http/schema.ts'
import { maxUploadBytes } from '../limits.ts'

/** Types that a browser gives for files that people send. */
const uploadTypes = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'video/mp4',
  'video/3gpp',
  'audio/aac',
  'audio/amr',
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'application/pdf',
  'text/plain',
  'text/csv',
  'application/zip',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/octet-stream',
] as const

export const uploadMedia = contract({
  auth: 'account',
  needs: 'inbox',
  shape: 'full',
  tag: 'Messaging app: messages',
  id: 'uploadMedia',
  client: 'media.upload',
  method: 'POST',
  url: '/open/media',
  summary: 'Upload a file to send it in a conversation',
  description:
    `The body is the file, of at most ${maxUploadBytes / 1024 / 1024} MiB. Images above 5 MiB, and sound and video above 16 MiB, are ` +
    'sent as documents. Header X-File-Name: its name, percent-encoded UTF-8. Send it within a day, as often as you like.',
  stream: true,
  media: uploadTypes,
  body: FileBody('application/pdf', '%PDF-1.7 …'),
  status: 201,
  reply: Ok({
    media: Type.Object({
      uuid: Id('MED'),
      url: Type.String({ description: 'Temporary link to the file' }),
      type: Enum(['image', 'video', 'audio', 'document'], { description: 'How networks show it' }),
      mime_type: Type.String({ examples: ['image/jpeg'] }),
      name: Type.String({ examples: ['parcel.jpg'] }),
      size: Type.Integer({ description: 'Bytes' }),
    }),
  }),
  bodyLimit: maxUploadBytes,
  codes: { invalid: ['empty_file'] },
  errors: {
    tooLarge: `The file is larger than ${maxUploadBytes / 1024 / 1024} MiB`,
    mediaType: 'Files of this type are not accepted',
  },
})
