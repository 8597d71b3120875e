// Comunica, which joins endpoints and files in the client.
import { QueryEngine } from '@comunica/query-sparql'

const { url, token, queries } = JSON.parse(process.env.GIVEN)
const engine = new QueryEngine()
const rows = async (query, sources) => (await engine.queryBindings(query, { sources })).toArray()
const quads = async (query, sources) => (await engine.queryQuads(query, { sources })).toArray()

const sources = [{ type: 'sparql', value: `${url}/sparql` }]
const found = {
  select: (await rows(queries.select, sources)).map(row => row.get('o').value),
  ask: await engine.queryBoolean(queries.ask, { sources }),
  construct: (await quads(queries.construct, sources)).length,
  terms: (await rows(queries.terms, sources)).map(row => row.get('o').value),
  graph: (await quads(queries.graph, sources)).length
}
found.discovered = (await rows(queries.select, [`${url}/sparql`])).length

const authorised = (address, init) => {
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${token}`)
  return fetch(address, { ...init, headers })
}
await engine.queryVoid("INSERT DATA { GRAPH <urn:comunica> { <urn:s> <urn:p> 'text'@en } }", {
  sources, destination: { type: 'sparql', value: `${url}/update` }, fetch: authorised
})
const written = await engine.queryBindings('SELECT ?o { GRAPH <urn:comunica> { ?s ?p ?o } }', {
  sources, fetch: authorised  // whoever wrote sees it at once
})
found.written = (await written.toArray()).map(row => row.get('o').value)  // Comunica 4.5 loses languages

// two sources: what they have together is joined here
const entity = `${url}/resource?iri=${encodeURIComponent('http://trustgraph.ai/e/skell-tidal-station')}`
const joined = 'SELECT DISTINCT ?o { ?s <http://trustgraph.ai/r/designed> ?o . ?o a ?type }'
found.joined = (await rows(joined, [...sources, entity])).map(row => row.get('o').value)
console.log(JSON.stringify(found))
