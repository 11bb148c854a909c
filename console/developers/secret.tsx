import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { FormActions } from '../parts/form.tsx'
import { Copy } from '../parts/values.tsx'
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

/** A signing secret, which is shown once. */
export const NewSecret = ({ secret, validUntil, onDone }: SecretProps) => (
  <div class="stack">
    <Banner tone="notice">{words.secret.once}</Banner>
    {validUntil && <p>{words.secret.validUntil(exactTime(validUntil))}</p>}
    <p class="break">
      <Copy value={secret} what={words.secret.label} />
    </p>
    <CodeBlock label={words.secret.verify} samples={[{ language: parts.code.client, code: receiver }]} />
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {words.secret.done}
      </Button>
    </FormActions>
  </div>
)
