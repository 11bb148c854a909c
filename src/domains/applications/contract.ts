import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Success, Time, WebAddress, WebMethod } from '../../platform/http/schema.ts'
import { callbackEvents } from './callback-events.ts'
import { answerSeconds, maxApplications } from './limits.ts'

const applications = { auth: 'account', needs: 'develop', shape: 'full', tag: 'Applications' } as const
const audited = { ...applications, audited: true } as const

const Address = (description: string) => Confidential(WebAddress(description), 'path')
const NullableAddress = (description: string) =>
  Type.Union([Address(description), Type.Null()], { description: `${description}; null: none` })
const SigningSecret = Confidential(
  Type.String({
    description: 'Signs the requests of the program by Standard Webhooks; keep it',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw4rW0Xb1JQ5s='],
  }),
)

const fields = {
  name: FreeText(100, 'A name of your own'),
  url: Address('Answers with the first document of a call'),
  method: WebMethod,
  fallback_url: NullableAddress('Is requested once where the program gives no document'),
  fallback_method: WebMethod,
  status_url: NullableAddress('Gets the statuses of the calls'),
  status_method: WebMethod,
  status_events: Type.Array(Enum([...callbackEvents]), {
    maxItems: callbackEvents.length,
    uniqueItems: true,
    description: 'Statuses that status_url gets. Default: completed',
  }),
  format: Enum(['native', 'twilio'], { description: 'Shape of the requests. Default: native' }),
  timeout_seconds: Type.Integer({
    minimum: answerSeconds.least,
    maximum: answerSeconds.most,
    description: `Seconds for an answer. Default: ${answerSeconds.ordinary}`,
  }),
}

/** An address of a reply, which has no limits. */
const ShownAddress = (description: string) =>
  Type.Union([Confidential(Type.String({ description }), 'path'), Type.Null()], { description: 'null: none' })

const Application = Named(
  'Application',
  Type.Object({
    uuid: Id('APP'),
    ...fields,
    fallback_url: ShownAddress('Is requested once where the program gives no document'),
    status_url: ShownAddress('Gets the statuses of the calls'),
    ...{ created_at: Time, updated_at: Time },
  }),
)

const { name: _name, url: _url, ...others } = fields
const optional = Type.Partial(Type.Object(others)).properties

const params = Type.Object({ application_uuid: Id('APP') })
const unknown = 'No such application of the account'
const refused = 'An address is refused (url_refused)'

export const listApplications = contract({
  ...applications,
  id: 'listApplications',
  client: 'applications.list',
  method: 'GET',
  url: '/open/voip/applications',
  summary: 'The applications of the account, newest first',
  description: `An account has at most ${maxApplications} of them.`,
  status: 200,
  reply: Ok({ applications: Type.Array(Application) }),
  errors: {},
})

export const createApplication = contract({
  ...audited,
  id: 'createApplication',
  makes: 'webhook',
  ownAnswer: true,
  client: 'applications.create',
  method: 'POST',
  url: '/open/voip/applications',
  summary: 'Store a program of calls under a name',
  description:
    'Only this response shows the signing secret. A number runs it with voice, a call with application_uuid.',
  body: Type.Object(
    { name: fields.name, url: fields.url, ...optional },
    { examples: [{ name: 'Menu', url: 'https://example.com/call' }] },
  ),
  status: 201,
  reply: Ok({ application: Application, signing_secret: SigningSecret }),
  codes: { conflict: ['too_many_applications'], invalid: ['url_refused'] },
  errors: { invalid: refused, conflict: `The account has ${maxApplications} applications` },
})

export const getApplication = contract({
  ...applications,
  id: 'getApplication',
  client: 'applications.get',
  method: 'GET',
  url: '/open/voip/applications/:application_uuid',
  summary: 'One application',
  description: 'Its secret is not shown again: rotateApplicationSecret makes a new one.',
  params,
  status: 200,
  reply: Ok({ application: Application }),
  errors: { notFound: unknown },
})

export const changeApplication = contract({
  ...audited,
  id: 'changeApplication',
  client: 'applications.update',
  method: 'PATCH',
  url: '/open/voip/applications/:application_uuid',
  summary: 'Change an application',
  description: 'Absent fields stay unchanged. Calls that run keep the program that they began with.',
  params,
  body: Type.Partial(Type.Object(fields), { examples: [{ url: 'https://example.com/call' }] }),
  status: 200,
  reply: Ok({ application: Application }),
  codes: { invalid: ['url_refused'], forbidden: ['program_not_allowed'] },
  errors: {
    invalid: refused,
    forbidden:
      'Another url or fallback_url needs inbox and inbox.all, too, and a key without spend_per_day (program_not_allowed)',
    notFound: unknown,
  },
})

export const deleteApplication = contract({
  ...audited,
  id: 'deleteApplication',
  client: 'applications.delete',
  method: 'DELETE',
  url: '/open/voip/applications/:application_uuid',
  summary: 'Delete an application',
  description: 'Calls that run go on. One that a number runs cannot be deleted.',
  params,
  status: 200,
  reply: Success,
  codes: { conflict: ['application_in_use'] },
  errors: { notFound: unknown, conflict: 'A number runs it' },
})

export const rotateApplicationSecret = contract({
  ...audited,
  id: 'rotateApplicationSecret',
  makes: 'webhook',
  ownAnswer: true,
  proof: true,
  client: 'applications.rotateSecret',
  method: 'POST',
  url: '/open/voip/applications/:application_uuid/secret',
  summary: 'Make a new signing secret',
  description: 'It signs from the next request on. Only this response shows it.',
  params,
  status: 200,
  reply: Ok({ signing_secret: SigningSecret }),
  errors: { notFound: unknown },
})
