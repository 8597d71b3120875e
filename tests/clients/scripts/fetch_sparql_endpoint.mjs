// fetch-sparql-endpoint, with which Comunica and others send queries.
import { SparqlEndpointFetcher } from 'fetch-sparql-endpoint'

const { url, queries } = JSON.parse(process.env.GIVEN)
const fetcher = new SparqlEndpointFetcher()
const endpoint = `${url}/sparql`
const read = async stream => {
  const found = []
  for await (const one of stream) found.push(one)
  return found
}
const values = async query => (await read(await fetcher.fetchBindings(endpoint, query))).map(row => row.o.value)
const triples = async query => (await read(await fetcher.fetchTriples(endpoint, query))).length

console.log(JSON.stringify({
  select: await values(queries.select),
  ask: await fetcher.fetchAsk(endpoint, queries.ask),
  construct: await triples(queries.construct),
  terms: await values(queries.terms),
  graph: await triples(queries.graph)
}))
