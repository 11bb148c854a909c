import { useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Combobox } from '../parts/combobox.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Card } from '../parts/page.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import type { Person } from '../shell/users.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import type { VirtualNumber } from './number-state.tsx'
import { VoiceFields, voiceChange } from './voice.tsx'

const zoneOption = (zone: string) => ({ value: zone, text: zone })

const zonesWith = (zone: string) =>
  [...new Set([zone, 'UTC', ...Intl.supportedValuesOf('timeZone')])].toSorted().map(zoneOption)

type Props = { readonly number: VirtualNumber; readonly users: readonly Person[] | undefined }

/** Name, what calls do, recording and time zone of a number. */
export const NumberSettings = ({ number, users }: Props) => {
  const [zone, setZone] = useState(number.timezone)
  const change = useAct('PUT /open/voip/virtual-numbers/:virtual_number_uuid', {
    stale: [
      'GET /open/voip/virtual-numbers',
      'GET /open/voip/virtual-numbers/:virtual_number_uuid',
      'GET /open/voip/virtual-numbers/:virtual_number_uuid/timeline',
    ],
    after: () => showToast(words.one.saved),
  })
  const submit = (values: Readonly<Record<string, string>>) => {
    if (change.isPending) return
    const voice = voiceChange(number.voice, values)
    void change({
      params: { virtual_number_uuid: number.uuid },
      body: {
        friendly_name: values.friendly_name,
        ...(voice ? { voice } : {}),
        record_inbound: values.record_inbound === 'true',
        timezone: zone,
      },
    })
  }
  return (
    <Card title={words.one.settings}>
      <Form onSubmit={submit} refusal={change.error ?? undefined} label={words.one.settings}>
        <TextField
          name="friendly_name"
          label={words.one.name}
          hint={words.one.nameHint}
          initial={number.friendly_name}
          maxLength={100}
          required
        />
        <VoiceFields voice={number.voice} users={users} />
        <CheckboxField
          name="record_inbound"
          label={words.one.record}
          hint={words.one.recordHint}
          initial={number.record_inbound}
        />
        <Combobox
          name="timezone"
          label={words.one.zone}
          hint={words.one.localTime(format.clock(Date.now(), zone), zone)}
          value={zoneOption(zone)}
          options={zonesWith(number.timezone)}
          onChange={(option) => option && setZone(option.value)}
        />
        <p class="soft">
          {words.one.messages} <a href={paths.logs()}>{words.one.logs}</a>
        </p>
        <FormActions>
          <Button type="submit" kind="primary" busy={change.isPending}>
            {words.one.save}
          </Button>
        </FormActions>
      </Form>
    </Card>
  )
}
