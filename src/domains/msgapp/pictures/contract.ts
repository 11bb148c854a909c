import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Ok, Phone } from '../../../platform/http/schema.ts'

const profile = { auth: 'account', shape: 'full', tag: 'Messaging app: numbers', status: 200 } as const

const params = Type.Object({ number: Phone('A connected number of the account') })
const reply = Ok({ batched: Type.Boolean({ description: 'True: the request is queued' }) })
const errors = {
  notFound: 'The number is not a connected number of the account',
  notSupported: 'The network does not support this; the message says why',
}

export const setProfilePicture = contract({
  ...profile,
  id: 'setProfilePicture',
  client: 'msgapp.setProfilePicture',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/set-profile-picture/:number',
  summary: 'Set the profile picture of a connected number, or remove it; queued',
  description: 'The picture is downloaded and set in the background. null removes the present picture.',
  params,
  body: Type.Object({
    url: Type.Union([Type.String({ minLength: 1, maxLength: 2_048 }), Type.Null()], {
      description: 'Public address of a JPEG or PNG of at most 5 MB; null removes the picture',
      examples: ['https://example.com/picture.jpg'],
    }),
  }),
  reply,
  errors,
})

export const setStatusText = contract({
  ...profile,
  id: 'setStatusText',
  client: 'msgapp.setStatusText',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/set-status/:number',
  summary: 'Set the about text of a connected number; queued',
  description: 'The text is changed in the background, on the network of the number.',
  params,
  body: Type.Object({ status: FreeText(139, 'Text that others see under the name') }),
  reply,
  errors,
})
