import { useState } from 'preact/hooks'
import type { ReadRoute, RequestOf } from '../api/client.ts'
import { ApiError } from '../api/errors.ts'
import { download } from '../api/files.ts'
import type { RequestParts } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/shell.ts'

type ExportProps<R extends ReadRoute> = {
  readonly route: R
  /** The filters of the list: the file has exactly its rows. */
  readonly request: RequestOf<R>
  readonly file: string
}

/** Saves all rows of a filtered list as CSV. */
export const ExportButton = <const R extends ReadRoute>({ route, request, file }: ExportProps<R>) => {
  const [isBusy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    const parts = request as RequestParts
    try {
      await download(route, { ...parts, query: { ...parts.query, format: 'csv' } } as RequestOf<R>, file)
    } catch (error) {
      showToast(error instanceof ApiError ? error.message : String(error), 'bad')
    }
    setBusy(false)
  }
  return (
    <Button icon="download" busy={isBusy} onClick={() => void save()}>
      {words.list.csv}
    </Button>
  )
}
