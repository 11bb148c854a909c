// Parts that most pages use: they are in the file of the entry. Parts that few pages use, such as charts, are left to
// the files of those pages.

import './parts/banner.tsx'
import './parts/choice-fields.tsx'
import './parts/dialog.tsx'
import './parts/form.tsx'
import './parts/menu.tsx'
import './parts/page.tsx'
import './parts/states.tsx'
import './parts/status.tsx'
import './parts/table.tsx'
import './parts/text-fields.tsx'
import './parts/values.tsx'
import './api/query.ts'
import './shell/list-table.tsx'
