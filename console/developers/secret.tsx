import { CodeBlock } from '../parts/code-block.tsx'
import { NewSecret } from '../parts/new-secret.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/webhook-portal.ts'
import { exactTime } from '../words/format.ts'

const receiver = `import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from '@trunkline/client'

createServer(async (req, res) => {
  const event = await verifyWebhook(await buffer(req), req.headers, process.env.WEBHOOK_SECRET ?? '')
  console.log(event)
  res.end()
}).listen(3000)`

type SecretProps = { readonly secret: string; readonly validUntil?: string | undefined; readonly onDone: () => void }

/** A new secret of an endpoint, with a receiver that checks signatures. */
export const EndpointSecret = ({ secret, validUntil, onDone }: SecretProps) => (
  <NewSecret secret={secret} onDone={onDone}>
    {validUntil && <p>{words.secret.validUntil(exactTime(validUntil))}</p>}
    <CodeBlock label={words.secret.verify} samples={[{ language: parts.code.client, code: receiver }]} />
  </NewSecret>
)
