import { accountRecipes } from './accounts.ts'
import { applicationRecipes } from './applications.ts'
import { callRecipes } from './calls.ts'
import { clipRecipes } from './clips.ts'
import { connectionRecipes } from './connections.ts'
import { contactRecipes } from './contacts.ts'
import { documentRecipes } from './documents.ts'
import { eventRecipes } from './events.ts'
import { groupRecipes } from './groups.ts'
import { handsetRecipes } from './handsets.ts'
import { inboxRecipes } from './inbox.ts'
import { inboxActRecipes } from './inbox-acts.ts'
import { inventoryRecipes } from './inventory.ts'
import { jobRecipes } from './jobs.ts'
import { mailRecipes } from './mail.ts'
import { messageRecipes } from './messages.ts'
import { channelRecipes } from './msgapp.ts'
import { numberRecipes } from './numbers.ts'
import { personRecipes } from './persons.ts'
import { pushRecipes } from './push.ts'
import type { Recipes } from './recipe.ts'
import { requestRecipes } from './requests.ts'
import { smsRecipes } from './sms.ts'
import { twilioRecipes } from './twilio.ts'
import { webhookRecipes } from './webhooks.ts'

/** The recipes of every endpoint. A new domain adds its file here. */
export const recipes: Recipes = {
  ...accountRecipes,
  ...callRecipes,
  ...clipRecipes,
  ...connectionRecipes,
  ...contactRecipes,
  ...eventRecipes,
  ...documentRecipes,
  ...groupRecipes,
  ...inboxRecipes,
  ...inboxActRecipes,
  ...inventoryRecipes,
  ...jobRecipes,
  ...mailRecipes,
  ...messageRecipes,
  ...numberRecipes,
  ...personRecipes,
  ...pushRecipes,
  ...channelRecipes,
  ...handsetRecipes,
  ...requestRecipes,
  ...smsRecipes,
  ...twilioRecipes,
  ...applicationRecipes,
  ...webhookRecipes,
}
