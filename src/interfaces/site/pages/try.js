const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()

// Order of the groups: the customers' interface, the operator's, then the rest.
const groups = [/^(?!Operator|Sandbox|Health)/, /^Operator/, /^Sandbox/, /^Health/]
const rank = (tag) => groups.findIndex((group) => group.test(tag))
const methods = ['get', 'post', 'put', 'patch', 'delete']
const place = (operation) => [operation.get('path'), methods.indexOf(operation.get('method'))]

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelRendering: 'example',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  // No external validator: no request leaves this server.
  validatorUrl: null,
  tagsSorter: (a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en'),
  operationsSorter: (a, b) => {
    const [[path, method], [otherPath, otherMethod]] = [place(a), place(b)]
    return path.localeCompare(otherPath, 'en') || method - otherMethod
  },
})
