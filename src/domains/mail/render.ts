import { type MailLink, type MailTemplate, type MailValues, type TemplateName, templates } from './templates.ts'

const entities: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => entities.get(one) ?? one)

const filled = (text: string, fields: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => fields[name] ?? '')

const textOfLink = ({ of, link }: MailLink): string => (of === undefined ? link : `${of}:\n${link}`)

const button =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#1f5fbf;color:#ffffff;text-decoration:none'

const htmlOfLink = ({ label, of, link }: MailLink): string => {
  const href = escapeHtml(link)
  const title = escapeHtml(of === undefined ? label : `${label}: ${of}`)
  return `<p><a href="${href}" style="${button}">${title}</a></p>\n<p style="word-break:break-all">${href}</p>`
}

const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>`

/** Neither background nor colour of the text is set: the mail program's own are right in light and dark. */
const page = (title: string, body: readonly string[], footer: readonly string[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;max-width:36em;margin:0 auto;padding:16px">
${body.join('\n')}
<hr style="border:0;border-top:1px solid #8888;margin:24px 0">
${footer.map((text) => `<p style="font-size:14px;opacity:0.8">${escapeHtml(text)}</p>`).join('\n')}
</body>
</html>
`

export type RenderedMail = { readonly subject: string; readonly text: string; readonly html: string }

/** Renders a mail in plain text and HTML. @param publicUrl address of the console */
export const renderMail = <Name extends TemplateName>(
  name: Name,
  values: MailValues[Name],
  publicUrl: string,
): RenderedMail => {
  const template: MailTemplate<MailValues[Name]> = templates[name]
  const { fields = {}, links = [] } = template.contents(values)
  const all = { ...fields, host: new URL(publicUrl).host }
  const [subject, before, after] = [
    filled(template.subject, all),
    template.text.map((text) => filled(text, all)),
    template.after.map((text) => filled(text, all)),
  ]
  const footer = [`${template.reason} ${template.unexpected}`, `Sent by Trunkline at ${publicUrl}/`]
  return {
    subject,
    text: `${[...before, ...links.map(textOfLink), ...after, '-- ', ...footer].join('\n\n')}\n`,
    html: page(subject, [...before.map(paragraph), ...links.map(htmlOfLink), ...after.map(paragraph)], footer),
  }
}
