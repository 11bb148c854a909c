// Parts that most pages use: the build puts them into one file, which every page loads. Parts that few pages use, such
// as charts, are left to the chunks of those pages. See `sharedModules` in build.mjs.

import './parts/banner.tsx'
import './parts/choice-fields.tsx'
import './parts/dialog.tsx'
import './parts/form.tsx'
import './parts/menu.tsx'
import './parts/page.tsx'
import './parts/states.tsx'
import './parts/status.tsx'
import './parts/text-fields.tsx'
import './parts/values.tsx'
import './api/query.ts'
