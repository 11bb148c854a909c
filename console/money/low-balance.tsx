import { useLocation } from 'preact-iso/router'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { MoneyField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/money.ts'
import { words as parts } from '../words/en/parts.ts'

/** The balance below which the account is warned. */
export const LowBalance = ({ open, current }: { open: boolean; current: string | undefined }) => {
  const { route: go } = useLocation()
  const close = () => go(paths.money(), true)
  const change = useAct('PATCH /open/account', {
    stale: ['GET /open/info'],
    after: ({ account: { low_balance: low } }) => {
      showToast(low === undefined ? words.low.removed : words.low.saved)
      close()
    },
  })
  return (
    <Dialog open={open} size="small" title={words.low.title} onClose={close}>
      <Form
        label={words.low.title}
        refusal={change.error ?? undefined}
        onSubmit={({ low_balance: low = '' }) => {
          if (!change.isPending) void change({ body: { low_balance: low === '' ? null : low } })
        }}
      >
        <MoneyField
          name="low_balance"
          label={words.low.label}
          hint={words.low.hint}
          initial={current ?? ''}
          optional
          autofocus
        />
        <FormActions>
          <Button type="submit" kind="primary" busy={change.isPending}>
            {words.low.save}
          </Button>
          <Button onClick={close}>{parts.cancel}</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
