/* A brief record for an item that is in hand and not in the catalog: instance, holdings record, item. */
import { get, post, remove, withQuery } from '../../api/client.ts';

interface Ids {
  id: string;
}

const first = async (path: string, list: string, query: string): Promise<string> => {
  const found = await get<Record<string, Ids[]>>(withQuery(path, { query, limit: 1 }));
  const id = found[list]?.[0]?.id;
  if (id === undefined) throw new Error(`${path}: ${query}`);
  return id;
};

/** Adds the three records; what was added is taken away again when a later one is refused. */
export async function addBriefItem(barcode: string, title: string): Promise<void> {
  const any = 'cql.allRecords=1';
  const [instanceTypeId, sourceId, locationId, materialTypeId, loanTypeId] = await Promise.all([
    first('/instance-types', 'instanceTypes', 'code==zzz').catch(() => first('/instance-types', 'instanceTypes', any)),
    first('/holdings-sources', 'holdingsRecordsSources', 'name==FOLIO').catch(() => undefined),
    first('/locations', 'locations', any),
    first('/material-types', 'mtypes', any),
    first('/loan-types', 'loantypes', any),
  ]);
  const added: string[] = [];
  const add = async (path: string, id: string, record: object) => {
    await post(path, { id, ...record });
    added.unshift(`${path}/${id}`);
    return id;
  };
  try {
    const instanceId = await add('/inventory/instances', crypto.randomUUID(), { title, source: 'FOLIO', instanceTypeId, staffSuppress: false, discoverySuppress: true });
    const holdingsRecordId = await add('/holdings-storage/holdings', crypto.randomUUID(), { instanceId, permanentLocationId: locationId, ...(sourceId ? { sourceId } : {}) });
    await add('/inventory/items', crypto.randomUUID(), {
      barcode,
      holdingsRecordId,
      status: { name: 'Available' },
      materialType: { id: materialTypeId },
      permanentLoanType: { id: loanTypeId },
    });
  } catch (error) {
    for (const path of added) await remove(path).catch(() => {});
    throw error;
  }
}
